package artifacttest

import (
	"archive/zip"
	"bytes"
	"net/http"
)

// artifact is an announced artifact and its blob.
type artifact struct {
	Artifact
	job string
	// path is the blob's, upload and download are the queries that open it.
	path, upload, download string
	blocks                 map[string]block
	// arrived are the ids of the blocks in the order of their first arrival, list is what was
	// committed.
	arrived, list []string
	committed     bool
	// idSize is the length of the ids in bytes, before they are encoded.
	idSize int
}

// announce adds an artifact of a job.
func (s *Server) announce(job, name, expires string) *artifact {
	id := firstID + int64(len(s.artifacts))
	a := &artifact{Artifact: Artifact{ID: id, Name: name, ExpiresAt: expires}, job: job, blocks: map[string]block{}}
	a.path = "/container/" + uuid() + ".zip"
	a.upload = s.sign()
	s.artifacts = append(s.artifacts, a)
	return a
}

func (s *Server) find(job, name string) *artifact {
	for _, a := range s.artifacts {
		if a.Name == name && (job == "" || a.job == job) {
			return a
		}
	}
	return nil
}

func (s *Server) create(in input) (map[string]any, *refusal) {
	if refused := checkName(in.Name); refused != nil {
		return nil, refused
	}
	if in.Version != 4 {
		return nil, never(http.StatusBadRequest, "invalid_argument", "version %d is not 4", in.Version)
	}
	// A name is taken from when it is announced, finalized or not.
	if s.find("", in.Name) != nil {
		return nil, &refusal{http.StatusConflict, "already_exists", "an artifact with this name already exists on the workflow run", true}
	}
	n := 0
	for _, a := range s.artifacts {
		if a.job == s.job {
			n++
		}
	}
	if n >= s.options.Limit {
		return nil, &refusal{http.StatusPreconditionFailed, "failed_precondition", "the job has too many artifacts", true}
	}
	a := s.announce(s.job, in.Name, in.ExpiresAt)
	return map[string]any{"ok": true, "signed_upload_url": s.blob.URL + a.path + "?" + a.upload}, nil
}

func (s *Server) finalize(in input) (map[string]any, *refusal) {
	a := s.find(s.job, in.Name)
	switch {
	case a == nil:
		return nil, never(http.StatusNotFound, "not_found", "there is no artifact %q of this job", in.Name)
	case a.Finalized && !s.options.Refinalize:
		return nil, &refusal{http.StatusNotFound, "not_found", "the artifact is not being uploaded", true}
	case !a.committed:
		return nil, never(http.StatusPreconditionFailed, "failed_precondition", "the content of %q is not there", in.Name)
	case in.Size != quote(a.Size):
		return nil, never(http.StatusBadRequest, "invalid_argument", "size %q is not %d", in.Size, a.Size)
	case in.Hash != "sha256:"+a.SHA.String():
		return nil, never(http.StatusBadRequest, "invalid_argument", "hash %q is not sha256:%s", in.Hash, a.SHA)
	}
	if s.options.Dir == "" {
		if _, err := zip.NewReader(bytes.NewReader(a.content()), a.Size); err != nil {
			return nil, never(http.StatusBadRequest, "invalid_argument", "the content is not a zip: %v", err)
		}
	}
	a.Finalized = true
	return map[string]any{"ok": true, "artifact_id": quote(a.ID)}, nil
}

func (s *Server) list(in input) (map[string]any, *refusal) {
	found := []any{}
	for _, a := range s.artifacts {
		if !a.Finalized || in.NameFilter != "" && in.NameFilter != a.Name || in.IDFilter != "" && in.IDFilter != quote(a.ID) {
			continue
		}
		item := map[string]any{
			"workflow_run_backend_id": s.run, "workflow_job_run_backend_id": a.job, "database_id": quote(a.ID),
			"name": a.Name, "size": quote(a.Size), "created_at": "2026-01-02T03:04:05Z", "digest": "sha256:" + a.SHA.String(),
		}
		if s.options.Undigested {
			delete(item, "digest")
		}
		found = append(found, item)
	}
	return map[string]any{"artifacts": found}, nil
}

// signedURL takes the ids of any job of the run: they are the artifact's, not the caller's.
func (s *Server) signedURL(in input) (map[string]any, *refusal) {
	a := s.find(in.JobID, in.Name)
	if in.RunID != s.run || in.JobID == "" || a == nil || !a.Finalized {
		return nil, never(http.StatusNotFound, "not_found", "job %q has no artifact %q", in.JobID, in.Name)
	}
	a.download = s.sign()
	return map[string]any{"name": a.Name, "signed_url": s.blob.URL + a.path + "?" + a.download}, nil
}
