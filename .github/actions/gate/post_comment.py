"""Write a gate's result as one comment on the pull request of the job, or update the comment of an earlier run.

Needs Python alone. The comment is known by a hidden first line and its author. Where no comment can be written, one
line says why, and the job goes on: its outcome is that of the gate.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PER_PAGE = 100
"""Comments of a page; fewer mean that it is the last one."""
PAGES = 100
"""Most pages that are read; GitHub takes 2,500 comments on a pull request."""
SECONDS = 30
"""Longest wait for an answer."""
NOT_CHECKED = "### Retrieval gate: ⚠️ not checked\n\nThe gate did not run to its end; the job's log says why.\n"


def main() -> None:
    """Write or update the comment."""
    number, commit = pull_request()
    if number is None:
        print("No comment: the job does not belong to a pull request.")
        return
    try:
        print(write(number, body(commit)))
    except urllib.error.HTTPError as error:
        advice = "; the job needs the permission pull-requests: write" if error.code in {401, 403, 404} else ""
        warn(f"GitHub answered {error.code}{advice}")
    except (OSError, ValueError, http.client.HTTPException) as error:
        warn(f"GitHub cannot be reached or gave no valid answer ({type(error).__name__})")


def warn(reason: str) -> None:
    """Say in one line why there is no comment."""
    print(f"::warning title=goldbench gate::No comment written: {reason}. The job summary holds the table.")


def pull_request() -> tuple[int | None, str]:
    """Return the number of the pull request of the job, and the commit that was tested."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_text(encoding="utf-8"))
    found = event.get("pull_request") or {}
    return found.get("number"), found.get("head", {}).get("sha") or os.environ.get("GITHUB_SHA", "")


def marker() -> str:
    """Return the hidden line that tells the comments of several gates apart."""
    title = re.sub(r"[^\w .]", "", os.environ.get("TITLE", "")).strip()
    return f"<!-- goldbench gate: {title} -->" if title else "<!-- goldbench gate -->"


def body(commit: str) -> str:
    """Return the text of the comment: the table, and the job that made it."""
    file, title = os.environ.get("MARKDOWN", ""), os.environ.get("TITLE", "")
    text = Path(file).read_text(encoding="utf-8") if file and Path(file).is_file() else NOT_CHECKED
    server, repository, run = (os.environ[f"GITHUB_{name}"] for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    job = f"{server}/{repository}/actions/runs/{run}"
    heading = [f"## {' '.join(title.split())}\n"] if title else []
    return "\n".join([marker(), *heading, text, f"Commit {commit[:12]}, [job]({job})."])


def write(number: int, text: str) -> str:
    """Update the comment if there is one, else write it; return what was done."""
    comments = f"repos/{os.environ['GITHUB_REPOSITORY']}/issues/{number}/comments"
    author = os.environ["AUTHOR"]
    for comment in every(comments):
        lines = (comment.get("body") or "").splitlines()
        if lines[:1] == [marker()] and (comment.get("user") or {}).get("login") == author:
            call("PATCH", f"repos/{os.environ['GITHUB_REPOSITORY']}/issues/comments/{comment['id']}", {"body": text})
            return "Comment updated."
    call("POST", comments, {"body": text})
    return "Comment written."


def every(path: str) -> Iterator[dict[str, Any]]:
    """Yield the comments of a pull request, page by page."""
    for page in range(1, PAGES + 1):
        found = call("GET", f"{path}?per_page={PER_PAGE}&page={page}")
        if not isinstance(found, list):
            raise http.client.HTTPException("not a list of comments")
        yield from (one for one in found if isinstance(one, dict))
        if len(found) < PER_PAGE:
            return


def call(method: str, path: str, sent: dict[str, str] | None = None) -> Any:  # noqa: ANN401  JSON
    """Send a request to GitHub's API, and return its answer.

    Args:
        method: GET, POST or PATCH.
        path: The address below that of the API.
        sent: The object to send, or None.
    """
    request = urllib.request.Request(  # noqa: S310  the address of the API is GitHub's own
        f"{os.environ['GITHUB_API_URL']}/{path}",
        data=None if sent is None else json.dumps(sent).encode(),
        method=method,
        headers={
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "User-Agent": "goldbench-gate",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    request.add_unredirected_header("Authorization", f"Bearer {os.environ['TOKEN']}")  # never to another address
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:  # noqa: S310  as above
        return json.loads(answer.read())


if __name__ == "__main__":
    main()
