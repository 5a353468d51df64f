"""The program on the hosts, on the standard library and what its zipapp carries. Must not: import anything of ours but
wire."""
