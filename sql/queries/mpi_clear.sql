-- Delete the calls of MPI-IO of a step. ?1 step
DELETE FROM mpi WHERE step_id = ?1;
