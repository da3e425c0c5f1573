"""The values that `report.html` shows."""
