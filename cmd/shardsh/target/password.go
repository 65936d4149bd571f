package target

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/event"

	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// PasswordVariable is the environment variable for the password, if the user can't be asked.
const PasswordVariable = "SHARDSH_PASSWORD"

// Dialer connects to clusters, with the callbacks of the program.
type Dialer struct {
	AppName string // in the logs of clusters
	Getenv  func(name string) (string, bool)
	// Ask asks for a password. remedy says how to avoid the question.
	Ask func(ctx context.Context, question, remedy string) (string, error)
	// Monitor observes the commands. It may be nil.
	Monitor *event.CommandMonitor
}

// FillPassword completes the credentials of a connection string (rules/04-command-line-and-prompt
// §1.10): from --passwordFile, from the environment, or by asking.
func (d Dialer) FillPassword(ctx context.Context, s ConnectionFlags, c *ConnectionString) error {
	switch {
	case c.user == nil:
		return nil
	case s.PasswordFile != "":
		text, err := secret.ReadPassword(s.PasswordFile)
		if err != nil {
			return cmdline.Usagef("--passwordFile: %w", err)
		}
		c.password = &text
		return nil
	case c.password != nil && (*c.password != "" || !s.Password.Given) || !wantsPassword(c):
		return nil
	}
	if text, ok := d.Getenv(PasswordVariable); ok && text != "" {
		c.password = &text
		return nil
	}
	text, err := d.Ask(ctx, "Enter password: ", "--passwordFile or "+PasswordVariable+" in the environment")
	c.password = &text
	return err
}

// wantsPassword reports whether the mechanism authenticates with a password.
func wantsPassword(c *ConnectionString) bool {
	mechanism, _ := c.get("authMechanism")
	return slices.Contains([]string{"", "DEFAULT", "PLAIN", "SCRAM-SHA-1", "SCRAM-SHA-256"}, strings.ToUpper(mechanism))
}

// keyPassword returns the password of the key file. It asks for the password if the file is encrypted
// and no password was given.
func (d Dialer) keyPassword(ctx context.Context, s ConnectionFlags, path string) (string, error) {
	encrypted, err := secret.CheckKeyFile(path)
	switch {
	case err != nil:
		return "", cmdline.Usagef("--tlsCertificateKeyFile: %w", err)
	case s.tls.keyPassword.Value != "" || !encrypted:
		return s.tls.keyPassword.Value, nil
	}
	return d.Ask(ctx, "Enter TLS key file password: ", "--tlsCertificateKeyFilePassword")
}
