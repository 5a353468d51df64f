"""What to say when an act was done, by what its button says. An act that needs other words says them itself (`done`).

Must not: know a page; say more than is known when the API has answered.
"""

from __future__ import annotations

from .shape import Act

OUTCOMES = {
    "Add a user": "The user is added.",
    "Add the dependency": "The dependency is added.",
    "Add this channel": "The channel is added.",
    "Allow an automation": "The automation may use it.",
    "Allow it again": "The automation may use it.",
    "Approve": "Your approval is recorded.",
    "Begin a window": "Healing is held back.",
    "Begin now": "It has begun.",
    "Change the role": "The role is changed.",
    "Check now": "It is checked now.",
    "Control a service": "The command is sent.",
    "Delete": "It is deleted.",
    "Delete it": "It is deleted.",
    "Delete the rule": "The rule is deleted.",
    "Delete this host": "The host is deleted.",
    "Demote": "The rule is demoted.",
    "Disable": "It is switched off.",
    "Dismiss": "It is dismissed.",
    "Enable": "It is switched on.",
    "End now": "It has ended.",
    "Hand over": "It is handed over.",
    "Hold healing for a while": "Healing is held back.",
    "I take it": "It is yours now.",
    "List processes": "The command is sent.",
    "Look for tools again": "The host is asked which tools it has.",
    "Name and tags": "Name and tags are saved.",
    "No quiet hours": "There are no quiet hours any more.",
    "Not now": "It is put off.",
    "Pause": "It is paused: nobody checks it.",
    "Pause healing": "Healing is paused.",
    "Plan it": "The window is planned.",
    "Promote": "The rule is promoted.",
    "Publish": "The update is written.",
    "Put away": "It is put away.",
    "Read logs": "The command is sent.",
    "Reject": "You rejected it: nothing is done.",
    "Resume": "It is checked again.",
    "Resume healing": "Healing goes on.",
    "Revoke its key": "Its key is refused from now on.",
    "Roll back": "It is being undone.",
    "Run a command": "The command is sent.",
    "Run now": "It was started.",
    "Save": "It is saved.",
    "Save the JSON": "It is saved.",
    "Set how often": "The interval is set.",
    "Set the tags": "The tags are set.",
    "Show them again": "They are shown again.",
    "Stop": "It is being stopped.",
    "Switch off": "It is switched off.",
    "Switch on": "It is switched on.",
    "Take back": "The automation may not use it any more.",
    "Take off the list": "The address is off the list.",
    "Take the dependency out": "The dependency is taken out.",
    "Take the logo away": "There is no logo any more.",
    "Turn the second factor off": "The second factor is off.",
    "Update the agent": "The agent is asked to update itself.",
}


def outcome_of(act: Act) -> str:
    return act.done or OUTCOMES[act.label]
