package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/recibo-ci/recibo/pkg/fault"
	"github.com/recibo-ci/recibo/pkg/wire"
)

// rules says why r must not be sent, nil when it may. What a request asks the provider to keep, to
// fetch or to run would take place outside the jail and outside the record.
func rules(path string, r *wire.Request, first *wire.Request) error {
	switch {
	case r.Model == "":
		return errors.New("it names no model")
	case first != nil && r.Model != first.Model:
		return fmt.Errorf("it asks for model %.64q, request 1 asked for %.64q", r.Model, first.Model)
	// A compaction cannot be stored and has no field for it.
	case r.Store == nil && path != compactPath:
		return errors.New("it does not say store: false")
	case r.Store != nil && *r.Store:
		return errors.New("it asks for store: true")
	case r.Background:
		return errors.New("it asks to run in the background")
	case r.Conversation != nil:
		return errors.New("it continues a conversation kept by the provider")
	case r.PreviousResponseID != "":
		return errors.New("it continues a response kept by the provider")
	case len(r.Outside) > 0:
		return fmt.Errorf("it points at what is not in it: %s", strings.Join(r.Outside, ", "))
	}
	for _, t := range r.Tools {
		if t.Type != "function" && t.Type != "custom" {
			return fmt.Errorf("a tool of type %.64q (name %.64q) would run at the provider", t.Type, t.Name)
		}
	}
	return nil
}

// refusal is the error of a request that the rules do not let through.
func refusal(n int, err error) error {
	if fault.KindOf(err) != 0 {
		return err
	}
	return fault.New(fault.Review, "look at the last line of wire.jsonl: something other than the review speaks to the model",
		"refuse model request %d: %w", n, err)
}
