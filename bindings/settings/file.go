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

// Load loads the settings that earlier sessions saved in a file, and saves later changes there. The
// file has one line of extended JSON with the settings that differ from their defaults
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
			continue // a setting of another version, or changed by a script
		}
		if problem := opt.set(s, js.FromGo(e.Value)); problem != "" {
			wrong = append(wrong, fmt.Errorf("%s: %s", path, problem))
		}
	}
	return errors.Join(wrong...)
}

// maxSettingsBytes is the maximum size of the file.
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

// saveSetting saves a changed setting, or removes it if it has its default again. Other settings in the
// file are kept, because another session may have saved them.
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

// replaceFile writes a file in a directory that only its owner can read.
func replaceFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return safefile.Replace(path, func(to io.Writer) error {
		_, err := to.Write(text)
		return err
	})
}
