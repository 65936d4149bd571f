package bindings

import (
	"fmt"
	"regexp"
	"strings"
)

// conditionOnRunning finds sh.isBalancerRunning() where only a boolean makes
// sense.
var conditionOnRunning = regexp.MustCompile(`(?:!\s*|\b(?:while|if)\s*\(\s*|&&\s*|\|\|\s*)sh\.isBalancerRunning\(\s*\)\s*(?:[^.\s\[]|$)`)

// warnAboutRunning tells, once, about conditions that are always true: the
// helper returns a document (spec 04 §5.3).
func (s *Shell) warnAboutRunning(name, text string) {
	if s.cfg.Compat || !strings.Contains(text, "isBalancerRunning") {
		return
	}
	at := conditionOnRunning.FindStringIndex(text)
	if at == nil {
		return
	}
	line := strings.Count(text[:at[0]], "\n") + 1
	s.warnOnce(fmt.Sprintf("Warning: %s:%d: sh.isBalancerRunning() returns a document, which is always true; use sh.isBalancerInRound()", name, line))
}
