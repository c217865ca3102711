"""Reports: what was measured, as pages to look at. Nothing is measured here."""
