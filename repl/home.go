package repl

import "path/filepath"

// Home returns the directory of what lasts between sessions: $SHARDSH_HOME,
// else .shardsh in the user's home. It is empty, which means to keep nothing,
// when the variable is set to nothing or no home is known.
func Home(lookupEnv func(string) (string, bool), home string) string {
	if path, ok := lookupEnv("SHARDSH_HOME"); ok {
		return path
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".shardsh")
}

// HistoryPath returns where the history lies: $SHARDSH_HISTORY, else history in
// Home. It is empty, which means to keep none, when the variable is set to
// nothing.
func HistoryPath(lookupEnv func(string) (string, bool), home string) string {
	if path, ok := lookupEnv("SHARDSH_HISTORY"); ok {
		return path
	}
	return within(Home(lookupEnv, home), "history")
}

// SettingsPath returns where config.set keeps settings: config in Home.
func SettingsPath(lookupEnv func(string) (string, bool), home string) string {
	return within(Home(lookupEnv, home), "config")
}

func within(directory, name string) string {
	if directory == "" {
		return ""
	}
	return filepath.Join(directory, name)
}
