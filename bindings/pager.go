package bindings

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// pagerSetting is how results that are taller than the screen are shown.
type pagerSetting struct {
	off     bool
	program string // empty: $PAGER, or what there is
}

func pagerOption() option {
	return option{"pager", func(s *settings) any {
		switch {
		case s.pager.off:
			return false
		case s.pager.program == "":
			return nil
		}
		return s.pager.program
	}, func(s *settings, v goja.Value) string {
		switch {
		case script.TypeOf(v) == "boolean":
			s.pager = pagerSetting{off: !v.ToBoolean()}
		case goja.IsNull(v):
			s.pager = pagerSetting{}
		case goja.IsString(v) && strings.TrimSpace(v.String()) != "":
			s.pager = pagerSetting{program: v.String()}
		default:
			return "pager must be a program, a boolean or null"
		}
		return ""
	}}
}

// Pager returns the program that the user has set for results that are taller
// than the screen, empty for the usual one, and whether there is to be any. A
// sandbox has none: it would let scripts start programs.
func (s *Shell) Pager() (program string, wanted bool) {
	if s.cfg.Sandbox.MayStart() != nil {
		return "", false
	}
	return s.settings.pager.program, !s.settings.pager.off
}
