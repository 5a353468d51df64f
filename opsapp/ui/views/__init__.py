"""HTML views: they fetch what the API's engine calls give, and hand it to a template."""
