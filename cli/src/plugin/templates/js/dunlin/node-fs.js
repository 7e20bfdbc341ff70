// What `node:fs` and `node:fs/promises` of jco-std (`jco:node/fs@0.1.0`) stand on: `wasi:filesystem`, where the host checks
// each operation, or asks about it. The working directory is the project.

import { getDirectories } from 'wasi:filesystem/preopens@0.2.12';

const CODES = {
  access: 'EACCES', 'bad-descriptor': 'EBADF', busy: 'EBUSY', 'cross-device': 'EXDEV', exist: 'EEXIST', 'file-too-large': 'EFBIG',
  'insufficient-memory': 'EMFILE', 'insufficient-space': 'ENOSPC', interrupted: 'EINTR', invalid: 'EINVAL', io: 'EIO',
  'is-directory': 'EISDIR', loop: 'ELOOP', 'name-too-long': 'ENAMETOOLONG', 'no-entry': 'ENOENT', 'not-directory': 'ENOTDIR',
  'not-empty': 'ENOTEMPTY', 'not-permitted': 'EPERM', quota: 'EDQUOT', 'read-only': 'EROFS', unsupported: 'ENOTSUP',
};
const TEXTS = {
  EACCES: 'permission denied', EEXIST: 'file already exists', EISDIR: 'illegal operation on a directory',
  ENOENT: 'no such file or directory', ENOTDIR: 'not a directory', ENOTEMPTY: 'directory not empty',
  EPERM: 'operation not permitted here', EINTR: 'the call was cancelled', ENOTSUP: 'not supported in a plugin',
};
const TYPES = {
  'block-device': 'block', 'character-device': 'character', directory: 'directory', fifo: 'fifo',
  'regular-file': 'file', socket: 'socket', 'symbolic-link': 'symlink',
};
const FOLLOW = { symlinkFollow: true };
const MAX_READ_BYTES = 1n << 20n;
const MAX_WRITE_BYTES = 1 << 16;

const openFiles = new Map();
let folders;

// The folder from which a path starts, and the path from there. `./` says that it is relative: a host may take `etc/hosts` for
// `/etc/hosts` where the project has no such folder, as C libraries leave out the first `/`.
function at(path) {
  folders ??= Object.fromEntries(getDirectories().map(([folder, name]) => [name, folder]));
  const text = nameOf(path);
  return text.startsWith('/') ? [folders['/'], text.replace(/^\/+/, '') || '.'] : [folders['.'], text && `./${text}`];
}

function nameOf({ tag, val }) {
  if (tag === 'text') return val;
  return tag === 'bytes' ? new TextDecoder().decode(val) : decodeURIComponent(new URL(val).pathname);
}

function failed(code, syscall, path) {
  const name = path === undefined ? undefined : nameOf(path);
  const text = TEXTS[code] ?? 'the operation failed';
  const message = `${code}: ${text}, ${syscall}${name === undefined ? '' : ` '${name}'`}`;
  return { name: 'Error', message, code, errno: undefined, syscall, path: name, dest: undefined };
}

// Turns what WASI says into an error of Node.js.
function told(syscall, path, work) {
  try {
    return work();
  } catch (error) {
    if (typeof error?.payload !== 'string') throw error;
    throw failed(CODES[error.payload] ?? 'EIO', syscall, path);
  }
}

function opened(path, flag) {
  const flags = flag.replace('s', '');
  if (!/^(r|r\+|(w|a)x?\+?)$/.test(flags)) throw failed('EINVAL', 'open', path);
  return told('open', path, () => {
    const [folder, name] = at(path);
    const how = flags[0] === 'r' ? {} : { create: true, exclusive: flags.includes('x'), truncate: flags[0] === 'w' };
    const may = { read: flags[0] === 'r' || flags.includes('+'), write: flags !== 'r' };
    return { handle: folder.openAt(FOLLOW, name, how, may), isAppending: flags[0] === 'a', position: 0n };
  });
}

function fileOf(descriptor) {
  const file = openFiles.get(descriptor);
  if (file === undefined) throw failed('EBADF', 'use');
  return file;
}

// Works with an open file, or with one that is opened for that.
function using(file, flag, work) {
  const path = file.tag === 'path' ? file.val : undefined;
  const { handle, ...state } = path === undefined ? fileOf(file.val) : opened(path, flag);
  try {
    return told(flag === 'r' ? 'read' : 'write', path, () => work(handle, state));
  } finally {
    if (path !== undefined) handle[Symbol.dispose]?.();
  }
}

function readAll(handle) {
  const pieces = [];
  let size = 0;
  for (let isEnd = false; !isEnd; ) {
    let piece;
    [piece, isEnd] = handle.read(MAX_READ_BYTES, BigInt(size));
    pieces.push(piece);
    size += piece.length;
  }
  const all = new Uint8Array(size);
  size = 0;
  for (const piece of pieces) {
    all.set(piece, size);
    size += piece.length;
  }
  return all;
}

function writeAt(handle, data, offset) {
  let done = 0;
  while (done < data.length) done += Number(handle.write(data.slice(done, done + MAX_WRITE_BYTES), offset + BigInt(done)));
}

function append(handle, data) {
  const stream = handle.appendViaStream();
  for (let done = 0; done < data.length; done += 4096) stream.blockingWriteAndFlush(data.slice(done, done + 4096));
  stream[Symbol.dispose]?.();
}

function statsOf({ type, linkCount, size, ...times }, { bigint }) {
  const number = (value) => (bigint ? { tag: 'bigint', val: BigInt(value) } : { tag: 'number', val: Number(value) });
  const ns = (time) => (time === undefined ? 0n : time.seconds * 1_000_000_000n + BigInt(time.nanoseconds));
  const [a, m, c] = [times.dataAccessTimestamp, times.dataModificationTimestamp, times.statusChangeTimestamp].map(ns);
  const kept = (time) => (bigint ? time : undefined);
  const none = number(0);
  const fileType = TYPES[type] ?? 'unknown';
  return {
    dev: none, ino: none, uid: none, gid: none, rdev: none, nlink: number(linkCount), size: number(size), fileType,
    mode: number({ directory: 0o040755, symlink: 0o120777 }[fileType] ?? 0o100644),
    blksize: number(4096), blocks: number((size + 511n) / 512n),
    atimeMs: number(a / 1_000_000n), mtimeMs: number(m / 1_000_000n), ctimeMs: number(c / 1_000_000n),
    birthtimeMs: number(c / 1_000_000n), atimeNs: kept(a), mtimeNs: kept(m), ctimeNs: kept(c), birthtimeNs: kept(c),
  };
}

function look(syscall, path, flags, options) {
  try {
    return told(syscall, path, () => {
      const [folder, name] = at(path);
      return statsOf(folder.statAt(flags, name), options);
    });
  } catch (error) {
    if (error.code === 'ENOENT' && options.throwIfNoEntry === false) return undefined;
    throw error;
  }
}

const text = (val) => ({ tag: 'text', val });

export const stat = (path, options) => look('stat', path, FOLLOW, options);
export const lstat = (path, options) => look('lstat', path, {}, options);
export const fstat = (descriptor, options) => told('fstat', undefined, () => statsOf(fileOf(descriptor).handle.stat(), options));
export const access = (path) => void look('access', path, FOLLOW, {});

export function exists(path) {
  return look('access', path, FOLLOW, { throwIfNoEntry: false }) !== undefined;
}

export const readFile = (file, options) => using(file, options.flag ?? 'r', readAll);

export function writeFile(file, data, options) {
  using(file, options.flag ?? 'w', (handle, { isAppending }) => (isAppending ? append(handle, data) : writeAt(handle, data, 0n)));
}

export const appendFile = (file, data, options) => using(file, options.flag ?? 'a', (handle) => append(handle, data));

export function copyFile(from, to, mode) {
  writeFile({ tag: 'path', val: to }, readFile({ tag: 'path', val: from }, {}), { flag: mode & 1 ? 'wx' : 'w' });
}

export function readdir(path, options) {
  return told('scandir', path, () => {
    const [folder, name] = at(path);
    const stream = folder.openAt(FOLLOW, name, { directory: true }, { read: true }).readDirectory();
    const entries = [];
    for (let entry; (entry = stream.readDirectoryEntry()) !== undefined; ) entries.push(entry);
    entries.sort((one, other) => (one.name < other.name ? -1 : 1));
    return entries.flatMap(({ name, type }) => {
      const parent = nameOf(path);
      const own = { tag: 'dirent', val: { name, parentPath: parent, fileType: TYPES[type] ?? 'unknown' } };
      const found = [options.withFileTypes ? own : { tag: 'name', val: name }];
      if (!options.recursive || type !== 'directory') return found;
      const below = readdir(text(`${parent.replace(/\/$/, '')}/${name}`), options);
      return found.concat(below.map((entry) => (entry.tag === 'name' ? { tag: 'name', val: `${name}/${entry.val}` } : entry)));
    });
  });
}

export function mkdir(path, { recursive }) {
  const make = (one) => told('mkdir', one, () => {
    const [folder, name] = at(one);
    folder.createDirectoryAt(name);
  });
  if (!recursive) return make(path);
  const parts = nameOf(path).split('/');
  let first;
  for (let length = 1; length <= parts.length; length += 1) {
    const one = text(parts.slice(0, length).join('/'));
    if (['', '.', '..'].includes(parts[length - 1])) continue;
    // A folder that is there needs no permission to be made; the last one has to be one.
    if (look('mkdir', one, FOLLOW, { throwIfNoEntry: false })?.fileType === 'directory') continue;
    make(one);
    first ??= one.val;
  }
  return first;
}

export const unlink = (path) => told('unlink', path, () => {
  const [folder, name] = at(path);
  folder.unlinkFileAt(name);
});

export const rmdir = (path) => told('rmdir', path, () => {
  const [folder, name] = at(path);
  folder.removeDirectoryAt(name);
});

export function rm(path, options) {
  const found = look('rm', path, {}, { throwIfNoEntry: !options.force });
  if (found === undefined) return;
  if (found.fileType !== 'directory') return unlink(path);
  if (!options.recursive) throw failed('EISDIR', 'rm', path);
  for (const { val } of readdir(path, {})) rm(text(`${nameOf(path).replace(/\/$/, '')}/${val}`), options);
  rmdir(path);
}

export const rename = (from, to) => told('rename', from, () => {
  const [folder, name] = at(from);
  folder.renameAt(name, ...at(to));
});

export const link = (from, to) => told('link', from, () => {
  const [folder, name] = at(from);
  folder.linkAt({}, name, ...at(to));
});

export const symlink = (target, path) => told('symlink', path, () => {
  const [folder, name] = at(path);
  folder.symlinkAt(nameOf(target), name);
});

export const readlink = (path) => told('readlink', path, () => {
  const [folder, name] = at(path);
  return folder.readlinkAt(name);
});

export function truncate(path, length) {
  using({ tag: 'path', val: path }, 'r+', (handle) => handle.setSize(BigInt(length)));
}

export const ftruncate = (descriptor, length) => using({ val: descriptor }, '', (handle) => handle.setSize(BigInt(length)));

export function utimes(path, ...times) {
  const stamp = (time) => ({
    tag: 'timestamp',
    val: { seconds: BigInt(Math.floor(time)), nanoseconds: Math.floor((time % 1) * 1e9) },
  });
  told('utime', path, () => {
    const [folder, name] = at(path);
    folder.setTimesAt(FOLLOW, name, ...times.map(stamp));
  });
}

export function open(path, { tag, val }) {
  const names = { 0: 'r', 2: 'r+', 0o1101: 'w', 0o2101: 'a' };
  const file = opened(path, tag === 'symbolic' ? val : (names[val] ?? ''));
  // 0 to 2 are input, output and errors.
  let descriptor = 3;
  while (openFiles.has(descriptor)) descriptor += 1;
  openFiles.set(descriptor, file);
  return descriptor;
}

export function close(descriptor) {
  fileOf(descriptor).handle[Symbol.dispose]?.();
  openFiles.delete(descriptor);
}

export function read(descriptor, length, position) {
  const file = fileOf(descriptor);
  const [data] = told('read', undefined, () => file.handle.read(BigInt(length), position ?? file.position));
  if (position === undefined) file.position += BigInt(data.length);
  return { bytesRead: data.length, data };
}

export function write(descriptor, data, position) {
  const file = fileOf(descriptor);
  told('write', undefined, () => {
    if (file.isAppending) append(file.handle, data);
    else writeAt(file.handle, data, position ?? file.position);
  });
  if (position === undefined) file.position += BigInt(data.length);
  return data.length;
}

export const fsync = () => undefined;
export const fdatasync = fsync;

// What a plugin cannot have, or what nobody has missed yet.
const no = (syscall) => () => {
  throw failed('ENOTSUP', syscall);
};
export const chmod = no('chmod');
export const chown = no('chown');
export const cp = no('cp');
export const fchmod = no('fchmod');
export const fchown = no('fchown');
export const futimes = no('futimes');
export const glob = no('glob');
export const lchown = no('lchown');
export const lutimes = no('lutimes');
export const mkdtemp = no('mkdtemp');
export const readv = no('readv');
export const realpath = no('realpath');
export const statfs = no('statfs');
export const writev = no('writev');
