"""What exists: Folder, Root, the role ACL, named evolve steps.

Must not: HTTP, gevent, anything of a feature.
"""
