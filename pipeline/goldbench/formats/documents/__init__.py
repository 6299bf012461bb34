"""Files of many formats to documents."""
