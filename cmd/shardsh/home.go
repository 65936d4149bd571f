package main

import "path/filepath"

// homeOf returns the directory of what lasts between sessions: $SHARDSH_HOME,
// else .shardsh in the user's home. It is empty, which means to keep nothing,
// when the variable is set to nothing or no home is known.
func homeOf(lookupEnv func(string) (string, bool), home string) string {
	if path, ok := lookupEnv("SHARDSH_HOME"); ok {
		return path
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".shardsh")
}

// historyPath returns where the history lies: $SHARDSH_HISTORY, else history in
// homeOf. It is empty, which means to keep none, when the variable is set to
// nothing.
func historyPath(lookupEnv func(string) (string, bool), home string) string {
	if path, ok := lookupEnv("SHARDSH_HISTORY"); ok {
		return path
	}
	return within(homeOf(lookupEnv, home), "history")
}

// settingsPath returns where config.set keeps settings: config in homeOf.
func settingsPath(lookupEnv func(string) (string, bool), home string) string {
	return within(homeOf(lookupEnv, home), "config")
}

func within(directory, name string) string {
	if directory == "" {
		return ""
	}
	return filepath.Join(directory, name)
}
