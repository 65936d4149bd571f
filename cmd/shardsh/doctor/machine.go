package doctor

import (
	"cmp"
	"fmt"
	"io/fs"
	"strings"
)

// File is a file that the program reads or writes without being asked.
type File struct {
	Name string // its purpose
	Path string // empty if it is not stored
	Mode fs.FileMode
	// Missing says that the file does not exist. Err says why the file can't be checked.
	Missing bool
	Err     error
	// AutoRun says that the file is a script that runs automatically.
	AutoRun bool
}

// Machine describes the local machine.
type Machine struct {
	Version string
	// Terminal says that the output is a terminal; Columns and Rows are its size.
	Terminal      bool
	Columns, Rows int
	Getenv        func(string) (string, bool)
	Files         []File
	// Windows says that file permissions can't be checked.
	Windows bool
}

// Check checks the local machine.
func (m Machine) Check() []Line {
	s := &section{name: "This machine"}
	s.addOK("shardsh", "%s", m.Version)
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
		s.addOK("terminal", "output is not a terminal: no colours, no pager, no prompt")
	case name == "" || name == "dumb":
		s.add(Warn, "terminal", "set TERM, for example to xterm-256color", "TERM is %q: no colours, no pager", name)
	default:
		colours := "with colours"
		if m.getenv("NO_COLOR") != "" {
			colours = "no colours (NO_COLOR is set)"
		}
		s.addOK("terminal", "%s, %d columns, %d rows, %s", name, m.Columns, m.Rows, colours)
	}
}

// checkLocale checks whether characters other than ASCII are displayed, which drawings and names of
// collections may need. The first of the three variables that is set counts.
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
			s.addOK("locale", "%s (%s)", value, name)
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

// checkFile checks permissions: whether other users can read the history, or write a script that runs
// automatically.
func (m Machine) checkFile(s *section, f File) {
	switch mode := f.Mode.Perm(); {
	case f.Path == "":
		s.addOK(f.Name, "not saved")
	case f.Err != nil:
		s.add(Warn, f.Name, "check its permissions, and those of its directory", "%v", f.Err)
	case f.Missing:
		s.addOK(f.Name, "%s does not exist", f.Path)
	case m.Windows:
		s.addOK(f.Name, "%s", f.Path)
	case f.AutoRun && mode&othersWrite != 0:
		s.add(Fail, f.Name, "chmod go-w "+f.Path, "%s runs at each start and is writable by others (mode %#o)", f.Path, mode)
	case f.AutoRun:
		s.addOK(f.Name, "%s runs before the first prompt (mode %#o)", f.Path, mode)
	case mode&(othersRead|othersWrite) != 0:
		s.add(Warn, f.Name, "chmod go= "+f.Path, "%s is readable by others (mode %#o)", f.Path, mode)
	default:
		s.addOK(f.Name, "%s (mode %#o)", f.Path, mode)
	}
}

// Setting is a connection setting, and its source.
type Setting struct {
	Name, Value, Source string
	// Grade may be empty, which means OK.
	Grade  Grade
	Remedy string
}

// SettingLines returns a line for each setting.
func SettingLines(list []Setting) []Line {
	s := &section{name: "Settings"}
	for _, one := range list {
		text := one.Value
		if one.Source != "" {
			text = fmt.Sprintf("%s (from %s)", one.Value, one.Source)
		}
		s.add(cmp.Or(one.Grade, OK), one.Name, one.Remedy, "%s", text)
	}
	return s.lines
}
