package bindings

import "shardsh/bindings/console"

// ConsoleHooks holds the callbacks into an interactive session; see [console.Hooks].
type ConsoleHooks = console.Hooks

// Attach connects the shell to an interactive session, and loads the settings that earlier sessions
// saved. Settings that a script has already changed are kept. An error says why the file was not read;
// the shell works without the file.
func (s *Shell) Attach(c ConsoleHooks) error {
	s.console.Attach(c)
	return s.settings.Load(s.JS, c.SettingsFile)
}

// TakeSuggestion returns the text that edit has produced for the next line, for the user to change and
// send. It returns each text once.
func (s *Shell) TakeSuggestion() string { return s.console.TakeSuggestion() }

// Prompt returns the prompt before an input; see [console.Prompt.Text].
func (s *Shell) Prompt() string { return s.prompt.Text() }

// HistoryRules returns the settings for the number of stored inputs, and for inputs with passwords:
// "remove", "remove-redact" or "keep".
func (s *Shell) HistoryRules() (length int, redact string) {
	return s.settings.HistoryLength, s.settings.RedactHistory
}

// Pager returns the program for results that are taller than the screen (empty for the default), and
// reports whether paging is on. A sandbox has no pager, because it would let scripts start programs.
func (s *Shell) Pager() (program string, wanted bool) {
	if s.cfg.Sandbox.CheckStartProgram() != nil {
		return "", false
	}
	return s.settings.Pager()
}

// LoadsMongoshRC reports whether mongosh's rc file is to be run if the shell's own does not exist
// (rules/04-command-line-and-prompt §2.11).
func (s *Shell) LoadsMongoshRC() bool { return s.settings.LoadMongoshrc }
