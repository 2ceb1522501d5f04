"""HTTP around the views: settings, start-up, request log, metrics, browser headers, client address."""
