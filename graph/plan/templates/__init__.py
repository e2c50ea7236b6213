"""Templates: plans with typed parameters for frequent tasks, so that no model need plan them."""

from graph.plan.templates.load import TemplateLibrary, TemplateProblem, load_templates, read_template
from graph.plan.templates.matching import TemplateMatch, made_up, match_rules, tool_faults
from graph.plan.templates.params import Param
from graph.plan.templates.rules import Rule
from graph.plan.templates.save import template_of, to_yaml
from graph.plan.templates.template import Template, TemplateError

__all__ = [
    "Param",
    "Rule",
    "Template",
    "TemplateError",
    "TemplateLibrary",
    "TemplateMatch",
    "TemplateProblem",
    "load_templates",
    "made_up",
    "match_rules",
    "read_template",
    "template_of",
    "to_yaml",
    "tool_faults",
]
