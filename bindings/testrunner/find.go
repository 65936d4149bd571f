package testrunner

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
)

// testFile matches the names of files with tests.
var testFile = regexp.MustCompile(`_test\.([mc]?js|[mc]?ts)$`)

// skippedFolders are directories that contain no tests of the user.
var skippedFolders = []string{"node_modules", ".git", "__snapshots__"}

// Find returns the test files for paths, in the order of the paths and without duplicates. A path of a
// file stands for that file, whatever its name. A path of a directory stands for the files in it and its
// subdirectories whose names match testFile.
func Find(paths []string) ([]string, error) {
	var files []string
	add := func(path string) {
		if !slices.Contains(files, path) {
			files = append(files, path)
		}
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return nil, fmt.Errorf("%s: there is no such file or folder", path)
		}
		if !info.IsDir() {
			add(filepath.Clean(path))
			continue
		}
		err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && at != path && slices.Contains(skippedFolders, d.Name()):
				return filepath.SkipDir
			case !d.IsDir() && testFile.MatchString(d.Name()):
				add(filepath.Clean(at))
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}
