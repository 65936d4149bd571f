#!/bin/sh
# Copies Appendix A's observed pairs out of the specification, as they stand:
# sh extract.sh path/to/04-shell.md > pairs.txt
# Groups keep their "### name" headings; cases are separated by empty lines.
awk '/^## Appendix A/ {on = 1; next} /^## / {on = 0} !on {next}
     /^### / {print; next} /^```/ {code = !code; print ""; next} code {print}' "$1"
