"""What tests share: waiting, fakes at the machine's edge, real processes."""
