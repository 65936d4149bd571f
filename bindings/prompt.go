package bindings

import "shardsh/bindings/console"

// Console is what an interactive session lends to scripts; see [console.Hooks].
type Console = console.Hooks

// Attach connects the shell to an interactive session, and reads the saved settings
// of the sessions before. Settings that a script has changed already stay as
// they are. The error says why the file was not read; the shell works without.
func (s *Shell) Attach(c Console) error {
	s.console.Attach(c)
	return s.settings.Load(s.JS, c.SettingsFile)
}

// Suggestion returns a text to be put into the next line for the user to change
// and send, if there is one: what came out of edit. It is given once.
func (s *Shell) Suggestion() string { return s.console.Suggestion() }

// Prompt returns what a REPL shows before an input; see [console.Prompt.Text].
func (s *Shell) Prompt() string { return s.prompt.Text() }

// HistoryRules returns the settings that say how many inputs are kept, and
// whether those with passwords are: "remove", "remove-redact" or "keep".
func (s *Shell) HistoryRules() (length int, redact string) {
	return s.settings.HistoryLength, s.settings.RedactHistory
}

// Pager returns the program that the user has set for results that are taller
// than the screen (empty: the default), and whether paging is on. A
// sandbox has none: it would let scripts start programs.
func (s *Shell) Pager() (program string, wanted bool) {
	if s.cfg.Sandbox.CheckStart() != nil {
		return "", false
	}
	return s.settings.Pager()
}

// LoadsMongoshRC reports whether mongosh's rc file is to be run where there is
// none of our own (rules/04-command-line-and-prompt §2.11).
func (s *Shell) LoadsMongoshRC() bool { return s.settings.LoadMongoshrc }
