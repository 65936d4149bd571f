package bindings

import (
	"fmt"
	"regexp"
	"strings"
)

// runningAsCondition matches sh.isBalancerRunning() where only a boolean makes sense: next to an
// operator, or as the condition of a loop. It does not match the condition of a ? b : c, for which
// recorded shells print no warning.
var runningAsCondition = regexp.MustCompile(`(?:!\s*|\b(?:while|if)\s*\(\s*|&&` +
	`\s*|\|\|\s*)sh\.isBalancerRunning\(\s*\)\s*(?:[^.\s\[]|$)` +
	`|sh\.isBalancerRunning\(\s*\)\s*(?:&&|\|\|)`)

// warnAboutRunning warns once about conditions that are always true, because the helper returns a
// document (rules/04-objects §5.3).
func (s *Shell) warnAboutRunning(name, text string) {
	if s.cfg.Compat || !strings.Contains(text, "isBalancerRunning") {
		return
	}
	for _, at := range runningAsCondition.FindAllStringIndex(text, -1) {
		before := text[:at[0]]
		if comment := before[strings.LastIndexByte(before, '\n')+1:]; strings.Contains(comment, "//") {
			continue
		}
		line := strings.Count(before, "\n") + 1
		s.JS.Out.WarnOnce(fmt.Sprintf("Warning: %s:%d: sh.isBalancerRunning() returns a document, which is always true; use "+
			"sh.isBalancerInRound()", name, line))
		return
	}
}
