// Where the documents of a job are.
//
//   jobs/{jobId}                                metadata and head: every write of the job passes it
//   jobs/{jobId}/states/job                     a copy of the metadata
//   jobs/{jobId}/states/{taskId}.               the epoch and the lease of a task: its last transition
//   jobs/{jobId}/states/{taskId}.{base64url}    a state; the tag is encoded, since it may contain a slash
//   jobs/{jobId}/leases/{taskId}                the last renewal
//
// Every revision is in one document of `states`, which is all that is listened to: a snapshot of it is complete
// up to its highest revision. Renewals take no revision and lie apart, so that heartbeats wake nobody.
import { Buffer } from 'node:buffer';
import type {
  CollectionReference,
  DocumentReference,
  Firestore,
  Query,
} from '@google-cloud/firestore';

const JOBS = 'jobs';
const METADATA_ID = 'job';

export class JobDocuments {
  readonly jobId: string;
  readonly job: DocumentReference;
  readonly states: CollectionReference;
  readonly leases: CollectionReference;

  constructor(firestore: Firestore, jobId: string) {
    this.jobId = jobId;
    this.job = firestore.collection(JOBS).doc(jobId);
    this.states = this.job.collection('states');
    this.leases = this.job.collection('leases');
  }

  get metadata(): DocumentReference {
    return this.states.doc(METADATA_ID);
  }

  task(taskId: number): DocumentReference {
    return this.states.doc(`${taskId}.`);
  }

  state(taskId: number, tag: string): DocumentReference {
    return this.states.doc(`${taskId}.${Buffer.from(tag).toString('base64url')}`);
  }

  lease(taskId: number): DocumentReference {
    return this.leases.doc(String(taskId));
  }
}

export function allJobs(firestore: Firestore): Query {
  return firestore.collection(JOBS);
}

/** What a document of `states` holds, by its id. */
export function kindOfDocument(id: string): 'job' | 'task' | 'state' {
  if (id === METADATA_ID) return 'job';
  return id.endsWith('.') ? 'task' : 'state';
}
