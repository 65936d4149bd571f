package settings

import (
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// pager is the setting for results that are taller than the screen.
type pager struct {
	off     bool
	program string // empty for $PAGER or the default
}

func pagerOption() option {
	return option{"pager", func(s *Values) any {
		switch {
		case s.pager.off:
			return false
		case s.pager.program == "":
			return nil
		}
		return s.pager.program
	}, func(s *Values, v goja.Value) string {
		switch {
		case script.TypeOf(v) == "boolean":
			s.pager = pager{off: !v.ToBoolean()}
		case goja.IsNull(v):
			s.pager = pager{}
		case goja.IsString(v) && strings.TrimSpace(v.String()) != "":
			s.pager = pager{program: v.String()}
		default:
			return "pager must be a program, a boolean or null"
		}
		return ""
	}}
}

// Pager returns the program for results that are taller than the screen, empty for the default, and
// reports whether paging is on.
func (s *Values) Pager() (program string, wanted bool) { return s.pager.program, !s.pager.off }
