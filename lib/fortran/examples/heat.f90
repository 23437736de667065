! Heat in a plate, in Fortran. On several nodes: tacit run -n 4 heat_fortran
module steps
   use tacit
   use, intrinsic :: iso_c_binding
   use, intrinsic :: iso_fortran_env, only: int64, real64
   implicit none
   integer, parameter :: rows = 61, columns = 53

   ! The same step for OpenCL and CUDA devices: i is a column, j a row in it, both from 0.
   character(*), parameter :: on_devices = &
      'struct last { uint64_t row, column; };'// &
      'TACIT_KERNEL heat(TACIT_VIEW(u), TACIT_VIEW(after), TACIT_CHUNK(c), TACIT_VALUE(struct last, l))'// &
      '{'// &
      '    TACIT_FOR (i, c, 0)'// &
      '        TACIT_FOR (j, c, 1)'// &
      '            TACIT_AT2(double, after, i, j) ='// &
      '                i == 0 || j == 0 || i == l.column || j == l.row ? TACIT_GET2(double, u, i, j) :'// &
      '                0.25 * (TACIT_GET2(double, u, i, j - 1) + TACIT_GET2(double, u, i, j + 1) +'// &
      '                        TACIT_GET2(double, u, i - 1, j) + TACIT_GET2(double, u, i + 1, j));'// &
      '}'
contains

   ! One step: inner cells become the mean of their neighbours; those at the edge stay.
   subroutine step(k) bind(c)
      type(c_ptr), value :: k
      real(real64), pointer :: u(:, :), after(:, :)
      integer(int64) :: lower(3), upper(3), i, j
      call tacit_chunk(k, lower, upper)
      call tacit_view(k, 1, u)
      call tacit_view(k, 2, after)
      do j = lower(2), upper(2)
         do i = lower(1), upper(1)
            if (i == 1 .or. j == 1 .or. i == rows .or. j == columns) then
               after(i, j) = u(i, j)
            else
               after(i, j) = 0.25_real64 * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1))
            end if
         end do
      end do
   end subroutine
end module

program heat
   use steps
   implicit none
   integer, parameter :: times = 40
   type(tacit_context) :: ctx
   type(tacit_buffer) :: u(0:1)
   type(tacit_program) :: device
   integer(int64), target :: last(2) = [rows - 1, columns - 1]
   real(real64) :: plate(rows, columns)
   integer :: t
   plate = 0
   plate(1, :) = 100
   call tacit_init(ctx)
   call tacit_buffer_create(ctx, u(0), shape(plate), storage_size(plate) / 8, 'even', init=plate)
   call tacit_buffer_create(ctx, u(1), shape(plate), storage_size(plate) / 8, 'odd')
   call tacit_program_create(device, on_devices, 'heat')
   do t = 0, times - 1
      call tacit_submit(ctx, 'step', shape(plate), step, &
                        [tacit_read(u(mod(t, 2)), star([1, 1])), tacit_write(u(mod(t + 1, 2)), one_to_one())], &
                        args=c_loc(last), args_size=storage_size(last) / 8 * size(last), opencl=device, cuda=device)
   end do
   call tacit_fence_read(ctx, u(mod(times, 2)), plate)
   if (tacit_node(ctx) == 0) write (*, '(f0.9,a,i0,a)') sum(plate), ' on ', tacit_num_nodes(ctx), ' nodes'
   call tacit_finalize(ctx)
   call tacit_program_destroy(device)
end program
