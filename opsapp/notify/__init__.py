"""It tells people: channels, grouping, quiet hours, delivery with retries. /api/notifications.

A room that has something to say calls `engine.tell` in its transaction; the message is durable from the commit on.

Greenlets: `notify-routing` (what was told becomes messages, and messages deliveries) and `notify-sending` (deliveries
leave, a native thread each), both under the lease `notify`; `notify-purge`.

Must not: know what is told about; reach the network from the hub or inside a transaction; show a channel's URL.
"""


def includeme(config):
    from opsapp.runtime.deletions import Deletable

    from .engine.channels import put_back
    from .engine.workers import figures
    from .logic.settings import NotificationSettings
    from .records import ChannelAsCode
    from .resources import reseal

    config.add_evolve_step("notify-1", "opsapp.notify.resources.set_up")
    config.add_evolve_step("notify-2-delivery", "opsapp.notify.resources.set_up_delivery")
    config.add_evolve_step("notify-4-damage", "opsapp.notify.engine.damage.set_up")
    config.add_evolve_step("notify-counts", "opsapp.notify.resources.deliveries.count_deliveries")
    config.add_evolve_step("notify-clock", "opsapp.notify.resources.deliveries.move_rest", reversible=True)
    config.add_section("notifications", NotificationSettings)
    config.add_applier("opsapp.notify.engine.channels.declare")
    config.add_kind("channels", "opsapp.notify.engine.ascode", schema=ChannelAsCode)
    config.add_sealed(reseal)
    config.add_deletable(Deletable("channel", "admin", "/notifications/channels/{}", put_back))
    config.add_preparation("opsapp.notify.engine.workers.prepare")
    config.add_engine("opsapp.notify.engine.workers.start")
    config.add_engine("opsapp.notify.engine.clocks.start", everywhere=True)
    config.add_metrics(figures)
    config.scan("opsapp.notify.views")
