package findings

import (
	"errors"
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/whatif"
	"shardsh/bindings/plaintext"
)

// WithSuggestion adds a suggestion to the error for a misspelled name; it returns other errors unchanged.
func WithSuggestion(err error) error {
	if unknown, ok := errors.AsType[*diagnosis.NotFoundError](err); ok {
		return fmt.Errorf("%w%s", err, plaintext.DidYouMean(unknown.Name, unknown.Existing))
	}
	if unknown, ok := errors.AsType[*whatif.UnknownChangeError](err); ok {
		return fmt.Errorf("%w%s", err, plaintext.DidYouMean(unknown.Name, unknown.Names))
	}
	return err
}
