// Package scripts embeds the maintenance scripts that ship with shardsh, the library. Each script is
// also a file that can be run, copied and changed.
package scripts

import (
	"embed"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// Files are the scripts, and the module that they share, by name.
//
//go:embed *.js
var Files embed.FS

// Script is a script of the library.
type Script struct {
	Name  string `json:"name"`
	About string `json:"about"` // a sentence
}

const extension = ".js"

// aboutPattern matches the sentence that a script also prints for --help.
var aboutPattern = regexp.MustCompile(`(?m)^ {2,4}about: "(.+)",$`)

// List returns the scripts, sorted by name. A file without such a sentence is a module, and is left
// out.
func List() []Script {
	var list []Script
	files, err := fs.Glob(Files, "*"+extension)
	if err != nil {
		return nil // the pattern is valid
	}
	for _, file := range files {
		text, err := Files.ReadFile(file)
		if err != nil {
			continue // embedded files can be read
		}
		if about := aboutPattern.FindSubmatch(text); about != nil {
			list = append(list, Script{Name: strings.TrimSuffix(file, extension), About: string(about[1])})
		}
	}
	return list
}

// Names returns the names of the scripts.
func Names() []string {
	var names []string
	for _, s := range List() {
		names = append(names, s.Name)
	}
	return names
}

// Find returns the file name of a script for load; the name may be given with its extension. It returns
// false when there is none.
func Find(name string) (file string, found bool) {
	name = strings.TrimSuffix(name, extension)
	return name + extension, slices.Contains(Names(), name)
}
