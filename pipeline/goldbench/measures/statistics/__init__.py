"""Statistics over queries: intervals, tests, agreement, calibration."""
