package bindings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/foreign"
)

// loadSettings reads what sessions before have kept: one line of extended JSON
// that holds only what is not at its default (rules/04-command-line-and-prompt §2.10).
func (s *Shell) loadSettings(path string) error {
	kept, err := readSettings(path)
	if err != nil {
		return err
	}
	var wrong []error
	for _, e := range kept {
		opt := optionNamed(e.Key)
		if opt == nil || s.settings.set[e.Key] {
			continue // of another version, or a script's
		}
		if problem := opt.set(&s.settings, s.JS.GoValue(e.Value)); problem != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s", path, problem))
		}
	}
	return errors.Join(wrong...)
}

// mostSettings is longer than settings are.
const mostSettings = 1 << 20

func readSettings(path string) (bson.D, error) {
	if path == "" {
		return nil, nil
	}
	text, err := foreign.Read(path, mostSettings, time.Second)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var kept bson.D
	if err == nil {
		err = bson.UnmarshalExtJSON(text, false, &kept)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the settings in %s: %w", path, err)
	}
	return kept, nil
}

// keepSetting writes a changed setting, or forgets one that is at its default
// again. Others in the file stay: another session may have put them there.
func (s *Shell) keepSetting(opt *option) error {
	if s.console == nil || s.console.Settings == "" {
		return nil
	}
	path := s.console.Settings
	kept, err := readSettings(path)
	if err != nil {
		return err
	}
	kept = slices.DeleteFunc(kept, func(e bson.E) bool { return e.Key == opt.name })
	standard := defaultSettings()
	if now := opt.get(&s.settings); now != opt.get(&standard) {
		kept = append(kept, bson.E{Key: opt.name, Value: now})
	}
	text, err := bson.MarshalExtJSON(kept, false, false)
	if err != nil {
		return err
	}
	return replaceFile(path, append(text, '\n'))
}

// replaceFile writes a file, in a folder that only its owner can look into.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return foreign.Replace(path, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}
