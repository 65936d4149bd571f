package call

// Limits that hello announces (rules/03-commands §1.9).
const (
	MaxMessageBytes = 48_000_000
	MaxWriteBatch   = 100_000
)
