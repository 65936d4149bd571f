package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// FormatVersion is the version of the JSON form of plans that Read supports.
const FormatVersion = 1

// MaxFileBytes is the maximum size of a plan in JSON that Read accepts.
const MaxFileBytes = 512 << 20

// ErrEdited says that the content of a plan does not match its ID.
var ErrEdited = errors.New("its contents do not match its id: it was edited")

// Read reads exactly one plan in JSON. It returns an error for an invalid plan, and ErrEdited for a
// plan that was edited.
func Read(r io.Reader) (*Plan, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading a plan: %w", err)
	case len(text) > MaxFileBytes:
		return nil, fmt.Errorf("reading a plan: it is larger than %d MiB", MaxFileBytes>>20)
	}
	p, err := parsePlan(text)
	if err != nil {
		return nil, fmt.Errorf("reading a plan: %w", err)
	}
	return p, nil
}

// ReadFile works like Read, for a file.
func ReadFile(path string) (*Plan, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // the file was opened for reading only
	p, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func parsePlan(text []byte) (*Plan, error) {
	var form struct {
		Format int `json:"format"`
	}
	err := json.Unmarshal(text, &form)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is not a JSON object: %w", err)
	case form.Format == 0:
		return nil, errors.New("it is not a plan: the field format is missing")
	case form.Format != FormatVersion:
		return nil, fmt.Errorf("its format is %d, and this version reads %d", form.Format, FormatVersion)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	p := &Plan{}
	if err := d.Decode(p); err != nil {
		return nil, err
	}
	if err := p.check(); err != nil {
		return nil, err
	}
	for _, prose := range []bool{false, true} { // IDs of older plans include prose, and such plans may still be stored
		id, err := p.hashID(prose)
		if err != nil {
			return nil, err
		}
		if id == p.ID {
			return p, p.checkHash()
		}
	}
	return nil, fmt.Errorf("%q: %w", p.ID, ErrEdited)
}

// checkHash sets the Hash of a plan without one, and returns an error if the Hash does not match the
// plan.
func (p *Plan) checkHash() error {
	oldHash := p.Hash
	hash, err := p.computeHash()
	if p.Hash = hash; err == nil && oldHash != "" && oldHash != hash {
		err = fmt.Errorf("%q: %w", p.ID, ErrEdited)
	}
	return err
}
