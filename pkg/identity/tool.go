package identity

import (
	"encoding/json"
	"fmt"

	"github.com/recibo-ci/recibo/pkg/digest"
)

// Tools is the tools file: what a team declares that its agent works with. It is a declaration;
// what the model was offered is read from the wire.
type Tools struct {
	Path string
	SHA  digest.SHA256
	Size int64
}

// ParseTools hashes the tools file as bytes. It must hold one JSON value.
func ParseTools(path string, data []byte) (*Tools, error) {
	if !json.Valid(data) {
		return nil, fmt.Errorf("read tools file %q: not JSON", path)
	}
	return &Tools{Path: path, SHA: digest.Of(data), Size: int64(len(data))}, nil
}
