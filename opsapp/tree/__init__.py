"""What exists: Folder, Root, the role ACL, named evolve steps.

Lives here: persistent containers and the rules that all of them keep. Must not: HTTP, gevent, anything of a feature.
"""
