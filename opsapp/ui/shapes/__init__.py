"""From the API's answers to words that a page shows, one file per page area. Pure. None of them may ask anybody, know a
request or a template, judge, or decide what is allowed."""
