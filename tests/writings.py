"""One value of each declared type in several writings, and others of that type."""

from __future__ import annotations

WRITINGS = {
    "decimal": ["5", "5.0", "+5", "5.00", "0.5e1"],
    "integer": ["5", "+5"],
    "timestamp": ["2024-01-01T00:00:00Z", "2024-01-01 01:00:00+01:00", "2024-01-01T00:00"],
    "ip": ["2001:db8::1", "2001:0db8:0:0:0:0:0:1", "2001:DB8::1"],
}
OTHERS = {
    "decimal": ["6", "7"],
    "integer": ["6", "7"],
    "timestamp": ["2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z"],
    "ip": ["2001:db8::2", "10.0.0.1"],
}
