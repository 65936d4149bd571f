package bindings

import (
	"fmt"
	"regexp"
	"strings"
)

// runningAsCondition finds sh.isBalancerRunning() where only a boolean makes
// sense: behind or before an operator, in a loop. In a choice
// (a ? b : c) recorded shells are silent.
var runningAsCondition = regexp.MustCompile(`(?:!\s*|\b(?:while|if)\s*\(\s*|&&` +
	`\s*|\|\|\s*)sh\.isBalancerRunning\(\s*\)\s*(?:[^.\s\[]|$)` +
	`|sh\.isBalancerRunning\(\s*\)\s*(?:&&|\|\|)`)

// warnAboutRunning tells, once, about conditions that are always true: the
// helper returns a document (rules/04-objects §5.3).
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
