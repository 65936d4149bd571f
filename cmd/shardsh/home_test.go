package main

import (
	"path/filepath"
	"testing"
)

func TestWhereThingsAreKept(t *testing.T) {
	for _, tt := range []struct {
		name, home        string
		env               map[string]string
		history, settings string
	}{
		{"home", "/home/ada", nil, "/home/ada/.shardsh/history", "/home/ada/.shardsh/config"},
		{"history elsewhere", "/home/ada", map[string]string{"SHARDSH_HISTORY": "/tmp/h"}, "/tmp/h",
			"/home/ada/.shardsh/config"},
		{"no history", "/home/ada", map[string]string{"SHARDSH_HISTORY": ""}, "", "/home/ada/.shardsh/config"},
		{"all elsewhere", "/home/ada", map[string]string{"SHARDSH_HOME": "/x"}, "/x/history", "/x/config"},
		{"nothing", "/home/ada", map[string]string{"SHARDSH_HOME": ""}, "", ""},
		{"no home", "", nil, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lookup := func(name string) (string, bool) { text, ok := tt.env[name]; return text, ok }
			if got := historyPath(lookup, tt.home); got != filepath.FromSlash(tt.history) {
				t.Errorf("history %q, want %q", got, tt.history)
			}
			if got := settingsPath(lookup, tt.home); got != filepath.FromSlash(tt.settings) {
				t.Errorf("settings %q, want %q", got, tt.settings)
			}
		})
	}
}
