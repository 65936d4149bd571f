package target

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Entry is a cluster of a file of targets.
type Entry struct {
	// Name is what the cluster is called; Labels say more about it.
	Name   string            `yaml:"name"`
	Labels map[string]string `yaml:"labels"`
	// Address is that of the command line, without a password.
	Address  string `yaml:"address"`
	Username string `yaml:"username"`
	// PasswordFile has the password in its first line. It is read for each connection.
	PasswordFile string `yaml:"passwordFile"`
}

// Server returns how to reach the cluster.
func (e Entry) Server() Server {
	return Server{Address: e.Address, Username: e.Username, PasswordFile: e.PasswordFile}
}

// Identity differs for entries that are to be reached in different ways, or labelled so.
func (e Entry) Identity() string {
	text := []string{e.Address, e.Username, e.PasswordFile}
	return strings.Join(append(text, e.Pairs()...), "\x00")
}

// Pairs returns the labels, names and values in turn, by name.
func (e Entry) Pairs() (list []string) {
	for _, name := range slices.Sorted(maps.Keys(e.Labels)) {
		list = append(list, name, e.Labels[name])
	}
	return list
}

// MostTargets is how many clusters a file may name.
const MostTargets = 10_000

// ParseFile reads a file of targets in YAML or JSON. No error repeats any of the credentials.
func ParseFile(data []byte) ([]Entry, error) {
	var file struct {
		Targets []Entry `yaml:"targets"`
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, yamlError(err)
	}
	if len(file.Targets) > MostTargets {
		return nil, fmt.Errorf("it has %d targets, more than %d", len(file.Targets), MostTargets)
	}
	names := map[string]bool{}
	for i, e := range file.Targets {
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("target %s: %w", cmp.Or(e.Name, fmt.Sprint("no. ", i+1)), err)
		}
		if names[e.Name] {
			return nil, fmt.Errorf("two targets have the name %s", e.Name)
		}
		names[e.Name] = true
	}
	return file.Targets, nil
}

// yamlError leaves out what a wrong value is, which may be a password.
func yamlError(err error) error {
	wrong, is := errors.AsType[*yaml.TypeError](err)
	if !is {
		return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	text := quoted.ReplaceAllString(wrong.Errors[0], "a value")
	return errors.New(strings.ReplaceAll(text, "type target.Entry", "a target"))
}

var (
	quoted    = regexp.MustCompile("(!!\\w+ )?`[^`]*`?")
	labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// check refuses what can't be.
func (e Entry) check() error {
	if e.Name == "" || e.Address == "" {
		return errors.New("it needs a name and an address")
	}
	for name := range e.Labels {
		if !labelName.MatchString(name) || strings.HasPrefix(name, "__") {
			return fmt.Errorf("%q can't be the name of a label", name)
		}
	}
	s := e.Server()
	c, err := s.ConnectionString()
	if err != nil {
		return err
	}
	if c.password != nil {
		return errors.New("the address has a password in it: put it into a file, and name that as passwordFile")
	}
	if c.user != nil && e.PasswordFile == "" && wantsPassword(c) {
		return errors.New("it needs a passwordFile for its user")
	}
	return s.Check()
}
