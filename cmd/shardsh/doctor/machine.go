package doctor

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
)

// File is one that the program reads or writes by itself.
type File struct {
	Name string // what it is
	Path string // empty where it is not saved
	Mode fs.FileMode
	// Missing is for one that is not there; Err says why one can't be looked at.
	Missing bool
	Err     error
	// Runs is for a script that runs by itself.
	Runs bool
}

// Machine describes the local machine.
type Machine struct {
	Version string
	// Terminal is whether output is one, of this many columns and rows.
	Terminal      bool
	Columns, Rows int
	Getenv        func(string) (string, bool)
	Files         []File
	// Windows has no permissions to look at.
	Windows bool
}

// Lines says what of this machine matters to the program.
func (m Machine) Lines() []Line {
	s := &section{name: "This machine"}
	s.ok("shardsh", "%s", m.Version)
	m.checkTerminal(s)
	m.checkLocale(s)
	for _, f := range m.Files {
		m.checkFile(s, f)
	}
	return s.lines
}

func (m Machine) getenv(name string) string {
	text, _ := m.Getenv(name)
	return text
}

func (m Machine) checkTerminal(s *section) {
	name := m.getenv("TERM")
	switch {
	case !m.Terminal:
		s.ok("terminal", "output is not a terminal: no colours, no pager, no prompt")
	case name == "" || name == "dumb":
		s.add(Warn, "terminal", "set TERM, for example to xterm-256color", "TERM is %q: no colours, no pager", name)
	default:
		colours := "with colours"
		if m.getenv("NO_COLOR") != "" {
			colours = "no colours (NO_COLOR is set)"
		}
		s.ok("terminal", "%s, %d columns, %d rows, %s", name, m.Columns, m.Rows, colours)
	}
}

// checkLocale reports whether signs beyond ASCII are shown, which drawings and names of
// collections need. The first that is set of the three counts.
func (m Machine) checkLocale(s *section) {
	if m.Windows {
		return
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		value := m.getenv(name)
		if value == "" {
			continue
		}
		if folded := strings.ToLower(strings.ReplaceAll(value, "-", "")); strings.Contains(folded, "utf8") {
			s.ok("locale", "%s (%s)", value, name)
			return
		}
		s.add(Warn, "locale", "export "+name+"=C.UTF-8", "%s (%s) is not UTF-8: bars and names may show as question marks",
			value, name)
		return
	}
	s.add(Warn, "locale", "export LANG=C.UTF-8", "none is set: bars and names may show as question marks")
}

const (
	othersRead  = fs.FileMode(0o044)
	othersWrite = fs.FileMode(0o022)
)

// checkFile checks the permissions: who else may read the history, or write a script that runs.
func (m Machine) checkFile(s *section, f File) {
	switch mode := f.Mode.Perm(); {
	case f.Path == "":
		s.ok(f.Name, "not saved")
	case f.Err != nil:
		s.add(Warn, f.Name, "check its permissions, and those of its directory", "%v", f.Err)
	case f.Missing:
		s.ok(f.Name, "%s does not exist", f.Path)
	case m.Windows:
		s.ok(f.Name, "%s", f.Path)
	case f.Runs && mode&othersWrite != 0:
		s.add(Fail, f.Name, "chmod go-w "+f.Path, "%s runs at each start and is writable by others (mode %#o)", f.Path, mode)
	case f.Runs:
		s.ok(f.Name, "%s runs before the first prompt (mode %#o)", f.Path, mode)
	case mode&(othersRead|othersWrite) != 0:
		s.add(Warn, f.Name, "chmod go= "+f.Path, "%s is readable by others (mode %#o)", f.Path, mode)
	default:
		s.ok(f.Name, "%s (mode %#o)", f.Path, mode)
	}
}

// Setting is what one decision about a connection came to, and what made it.
type Setting struct {
	Name, Value, Source string
	// Grade is OK when it is empty.
	Grade  Grade
	Remedy string
}

// SettingLines lists them.
func SettingLines(list []Setting) []Line {
	s := &section{name: "Settings"}
	for _, one := range list {
		grade := one.Grade
		grade = cmp.Or(grade, OK)
		text := one.Value
		if one.Source != "" {
			text = fmt.Sprintf("%s (from %s)", one.Value, one.Source)
		}
		s.add(grade, one.Name, one.Remedy, "%s", text)
	}
	return s.lines
}
