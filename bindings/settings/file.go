package settings

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

	"shardsh/balancer/safefile"
	"shardsh/bindings/script"
)

// Load reads the settings that earlier sessions saved in a file, and saves changes there
// from now on: one line of extended JSON that holds only what is not at its default
// (rules/04-command-line-and-prompt §2.10).
func (s *Values) Load(js *script.Engine, path string) error {
	s.path = path
	kept, err := readSettings(path)
	if err != nil {
		return err
	}
	var wrong []error
	for _, e := range kept {
		opt := optionNamed(e.Key)
		if opt == nil || s.changedByScript[e.Key] {
			continue // of another version, or a script's
		}
		if problem := opt.set(s, js.FromGo(e.Value)); problem != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s", path, problem))
		}
	}
	return errors.Join(wrong...)
}

// maxSettingsBytes is longer than settings are.
const maxSettingsBytes = 1 << 20

func readSettings(path string) (bson.D, error) {
	if path == "" {
		return nil, nil
	}
	text, err := safefile.Read(path, maxSettingsBytes, time.Second)
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

// saveSetting writes a changed setting, or forgets one that is at its default
// again. Others in the file stay: another session may have put them there.
func (s *Values) saveSetting(opt *option) error {
	if s.path == "" {
		return nil
	}
	path := s.path
	kept, err := readSettings(path)
	if err != nil {
		return err
	}
	kept = slices.DeleteFunc(kept, func(e bson.E) bool { return e.Key == opt.name })
	standard := Default()
	if now := opt.get(s); now != opt.get(standard) {
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
	return safefile.Replace(path, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}
