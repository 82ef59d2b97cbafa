// Tags of syncline.mesh.v1.Operations and syncline.sets.v1.Change: field number and wire type in one byte.
//
//   Operations { operations = 1 }   Operation { dot = 1; count = 2; dependencies = 3; body = 4 }
//   the body, Change { sets = 1; dropped = 2 }   SetChange { set = 1; add = 2; remove = 3 }
const varint = 0;
const delimited = 2;

export const tags = {
  operation: (1 << 3) | delimited,
  dot: (1 << 3) | delimited,
  count: (2 << 3) | varint,
  dependencies: (3 << 3) | delimited,
  body: (4 << 3) | delimited,
  sets: (1 << 3) | delimited,
  dropped: (2 << 3) | delimited,
  set: (1 << 3) | delimited,
  add: (2 << 3) | delimited,
  remove: (3 << 3) | delimited,
} as const;
