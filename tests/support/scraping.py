"""What a scrape of /metrics says, read by Prometheus' own parser."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families


class Scrape:
    """One answer of /metrics. `families`: name -> type, as its lines of HELP and TYPE say."""

    def __init__(self, text):
        self.text = text
        self.families, self.samples = {}, {}
        for family in text_string_to_metric_families(text):
            assert family.name not in self.families, f"{family.name} is told twice"
            assert family.documentation, f"{family.name} says nothing of itself"
            self.families[family.name] = family.type
            for sample in family.samples:
                key = sample.name, tuple(sorted(sample.labels.items()))
                assert key not in self.samples, f"{key} is told twice"
                self.samples[key] = sample.value

    def of(self, name, /, **labels):
        """Those with these labels: the values of the other labels, in the order of their names -> the value."""
        wanted = set(labels.items())
        return {
            tuple(value for label, value in known if label not in labels): value
            for (sample, known), value in self.samples.items()
            if sample == name and wanted <= set(known)
        }

    def value(self, name, /, **labels):
        """The only one, or None."""
        values = list(self.of(name, **labels).values())
        assert len(values) < 2, (name, values)
        return values[0] if values else None


def scraped(client):
    """By a client of WebTest."""
    return Scrape(client.get("/metrics").text)
