"use strict";
// A browser sends no cookie with a link from another page. Asked for from here, the page gets it; what stands behind # stays.
location.replace(document.getElementById("on").getAttribute("href") + location.hash);
