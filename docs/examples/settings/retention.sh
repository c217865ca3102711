sfumato retain policy.yaml --now 2026-01-31
