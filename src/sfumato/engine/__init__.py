"""The only place that knows all stages: plan, count, search, apply, verify, publish."""
