"""Records of the API as sentences with names and links: each function gives a `Sentence`, which a template shows as it
is. `NameBook` says who is meant by a name."""

from opsapp.lib.enumerated import listed

from .healing import act, figures, heal, reason, root_of
from .people import COUNTED, STAGES, approval, asked_for, audit, came_back, of_incident, run, update, went_down, window
from .words import NameBook, Sentence, Word, case, count, person, place_of, said, sentence_of, span, target_words
