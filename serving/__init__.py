"""HTTP around the views: settings, start, request log, metrics, browser headers, client address."""
