"""What a page says when an act was done, by the words of its button, unless the act has `done`. Must not: say more
than is known when the API has answered."""

from __future__ import annotations

from .shape import Act

OUTCOMES = {
    "Add a user": "The user is added.",
    "Add the dependency": "The dependency is added.",
    "Add this channel": "The channel is added.",
    "Allow an automation": "The automation may use it.",
    "Allow it again": "The automation may use it.",
    "Approve": "Your approval is recorded.",
    "Change the role": "The role is changed.",
    "Check now": "It is checked now.",
    "Control a service": "The command is sent.",
    "Delete the rule": "The rule is deleted.",
    "Delete this host": "The host is deleted.",
    "Delete": "It is deleted.",
    "Demote": "The rule is demoted.",
    "Disable": "It is disabled.",
    "Dismiss": "It is dismissed.",
    "Enable": "It is enabled.",
    "End now": "It has ended.",
    "Hand over": "It is handed over.",
    "I take it": "It is yours now.",
    "List processes": "The command is sent.",
    "Name and tags": "Name and tags are saved.",
    "No quiet hours": "There are no quiet hours any more.",
    "Not now": "It is put off.",
    "Pause healing for a target": "Healing is paused there.",
    "Pause healing": "Healing is paused.",
    "Pause": "It is paused: nobody checks it.",
    "Plan the window": "The window is planned.",
    "Promote": "The rule is promoted.",
    "Publish": "The update is written.",
    "Read logs": "The command is sent.",
    "Refresh capabilities": "The host was asked which tools it has.",
    "Reject": "You rejected it: nothing is done.",
    "Remove the dependency": "The dependency is removed.",
    "Remove the logo": "The logo is removed.",
    "Remove the subscriber": "The subscriber is removed.",
    "Resume healing": "Healing goes on.",
    "Resume": "It is checked again.",
    "Revoke its key": "Its key is refused from now on.",
    "Revoke": "The automation may not use it any more.",
    "Roll back": "It is being undone.",
    "Run a command": "The command is sent.",
    "Run now": "It was started.",
    "Save the JSON": "It is saved.",
    "Save": "It is saved.",
    "Set the interval": "The interval is set.",
    "Set the tags": "The tags are set.",
    "Show them again": "They are shown again.",
    "Pause this target": "Healing is paused there.",
    "Start now": "It has started.",
    "Stop": "It is being stopped.",
    "Turn the second factor off": "The second factor is off.",
    "Update the agent": "The agent is asked to update itself.",
}


def outcome_of(act: Act) -> str:
    return act.done or OUTCOMES[act.label]
