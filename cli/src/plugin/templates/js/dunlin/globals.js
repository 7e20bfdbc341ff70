// What packages take for given because Node.js has it; bundled where it is used.
export { Buffer } from 'node:buffer';
